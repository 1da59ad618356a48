network
mkdir -p /mnt
mounted nfs4 10.0.0.1:/ vers=4.2,addr=10.0.0.1,clientaddr=$address
dd if=/dev/urandom of=/mnt/data bs=1M count=16 2> /dev/null
load /mnt/data --rw randread --bs 4k --rate-iops 10 --arrival poisson
watch_it rest /mnt
load /mnt --size 16m --rw randwrite --bs 4k --iodepth 1 --fsync 1
watch_it sync /mnt
