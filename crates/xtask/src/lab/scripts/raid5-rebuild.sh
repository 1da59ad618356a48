profile /dev/sda
mdadm --create /dev/md0 --run --assume-clean --level=5 --raid-devices=3 /dev/sda /dev/sdb /dev/sdc
load /dev/md0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it same /dev/md0
echo 500 > /proc/sys/dev/raid/speed_limit_min
echo 3000 > /proc/sys/dev/raid/speed_limit_max
mdadm /dev/md0 --fail /dev/sdc
for try in 1 2 3 4 5 6 7 8 9; do mdadm /dev/md0 --remove /dev/sdc && break; sleep 1; done
mdadm /dev/md0 --add /dev/sdd
for try in 1 2 3 4 5 6 7 8 9; do grep -q recover /sys/block/md0/md/sync_action && break; sleep 1; done
load /dev/md0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it rebuilding /dev/md0
