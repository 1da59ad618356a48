profile /dev/sda
mdadm --create /dev/md0 --run --assume-clean --level=1 --raid-devices=2 /dev/sda /dev/sdb
mdadm /dev/md0 --fail /dev/sdb
load /dev/md0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it degraded /dev/md0
