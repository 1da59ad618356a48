head -c 64 /dev/urandom > /tmp/key
cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 512 --key-file /tmp/key /dev/vda secret 2> /tmp/why || tell failed 1 /tmp/why
dmsetup mknodes
load /dev/mapper/secret --rw randread --bs 4k --rate-iops 5 --arrival poisson
watch_it rest /dev/mapper/secret
load /dev/mapper/secret --rw read --bs 256k --iodepth 8
watch_it full /dev/mapper/secret
