profile /dev/sda
group tenant
echo "$(cat /sys/block/sda/dev) riops=60" > /sys/fs/cgroup/tenant/io.max
load_in tenant /dev/sda --rw randread --bs 4k --iodepth 8
watch_it held /dev/sda
load /dev/sda --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it below /dev/sda
