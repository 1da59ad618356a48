profile /dev/sda
load /dev/sda --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it same /dev/sda
slow_scsi 9000000
load /dev/sda --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it slower /dev/sda
