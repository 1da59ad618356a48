load /dev/vda --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it below /dev/vda
load /dev/vda --rw randread --bs 4k --iodepth 16
sleep 40
watch_it spent /dev/vda
