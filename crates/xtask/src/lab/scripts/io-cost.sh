profile /dev/sda
disk=$(cat /sys/block/sda/dev)
echo "$disk enable=1 ctrl=user rpct=90 rlat=20000 wpct=90 wlat=20000 min=50.00 max=100.00" > /sys/fs/cgroup/io.cost.qos
echo "$disk ctrl=user model=linear rbps=40000000 rseqiops=2000 rrandiops=1500 wbps=40000000 wseqiops=2000 wrandiops=1500" > /sys/fs/cgroup/io.cost.model
group heavy
group light
echo 1000 > /sys/fs/cgroup/heavy/io.weight
echo 10 > /sys/fs/cgroup/light/io.weight
load_in heavy /dev/sda --rw randread --bs 4k --iodepth 16
load_in light /dev/sda --rw randread --bs 4k --iodepth 4
watch_it shared /dev/sda
