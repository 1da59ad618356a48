delayed slow /dev/sda 4
profile /dev/dm-0
load /dev/dm-0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it same /dev/dm-0
slower slow /dev/sda 60
load /dev/dm-0 --rw randread --bs 4k --rate-iops 40 --arrival poisson
watch_it slower /dev/dm-0
