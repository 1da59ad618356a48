load /dev/sda --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it small /dev/sda
load /dev/sda --rw read --bs 1m --iodepth 8
watch_it full /dev/sda
