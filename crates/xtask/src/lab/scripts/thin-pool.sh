dmsetup create meta --table '0 16384 linear /dev/sda 0'
dmsetup create data --table '0 409600 linear /dev/sda 16384'
dmsetup mknodes
dmsetup create pool --table '0 409600 thin-pool /dev/mapper/meta /dev/mapper/data 128 0'
dmsetup mknodes
dmsetup message /dev/mapper/pool 0 'create_thin 0'
dmsetup create thin --table '0 262144 thin /dev/mapper/pool 0'
dmsetup mknodes
dd if=/dev/zero of=/dev/mapper/thin bs=1M count=128 2> /dev/null
profile /dev/mapper/thin
load /dev/mapper/thin --rw randread --bs 4k --rate-iops 100 --arrival poisson
watch_it same /dev/mapper/thin
slow_scsi 9000000
load /dev/mapper/thin --rw randread --bs 4k --rate-iops 60 --arrival poisson
watch_it slower /dev/mapper/thin
