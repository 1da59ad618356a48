profile /dev/nvme0n1
load /dev/nvme0n1 --rw randread --bs 4k --iodepth 4
watch_it cool /dev/nvme0n1
hot=$(ls -d /sys/class/nvme/nvme0/hwmon*/temp1_max | head -n 1)
echo 48000 > $hot
load /dev/nvme0n1 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it warm /dev/nvme0n1
disk read=12000 write=12000
load /dev/nvme0n1 --rw randread --bs 4k --iodepth 4
watch_it hot /dev/nvme0n1
