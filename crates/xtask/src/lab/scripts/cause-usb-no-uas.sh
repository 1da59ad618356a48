load /dev/sda --rw randread --bs 4k --rate-iops 20 --arrival poisson
watch_it alone /dev/sda
load /dev/sda --rw randread --bs 4k --iodepth 16
watch_it deep /dev/sda
