profile /dev/sda
# A table of one partition, from sector 63.
printf '\000\001\001\000\203\376\377\377\077\000\000\000\040\241\007\000' | dd of=/dev/sda bs=1 seek=446 2> /dev/null
printf '\125\252' | dd of=/dev/sda bs=1 seek=510 2> /dev/null
blockdev --rereadpt /dev/sda
sleep 2
load /dev/sda1 --rw randread --bs 4k --rate-iops 60 --arrival poisson
watch_it reads /dev/sda
slow_scsi 9000000
load /dev/sda1 --rw randwrite --bs 4k --rate-iops 40 --arrival poisson --destroy-data-on 2000-part1
watch_it writes /dev/sda
