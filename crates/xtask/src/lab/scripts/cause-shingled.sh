profile /dev/sda
load /dev/sda --rw randread --bs 4k --rate-iops 60 --arrival poisson
watch_it reads /dev/sda
slow_scsi 20000000
load /dev/sda --rw randwrite --bs 4k --rate-iops 30 --arrival poisson --destroy-data-on 2000
watch_it writes /dev/sda
