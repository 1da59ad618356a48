for engine in $engines; do
    dd if=/dev/zero of=/dev/ram0 bs=1M count=64 conv=fsync 2> /dev/null
    dmsetup create lies --table '0 131072 linear /dev/ram0 0'
    dmsetup mknodes
    (sleep 3; dmsetup reload lies --table '0 131072 snapshot /dev/ram0 /dev/ram1 N 16'; dmsetup suspend lies; dmsetup resume lies) &
    run_it before-$engine /dev/dm-0 --rw write --bs 4k --iodepth 4 --ioengine $engine --passes 1 --runtime 60s --think-time 1500us --verify --seed 7 --destroy-data-on lies
    wait
    dmsetup remove lies
    dmsetup create lies --table '0 131072 linear /dev/ram0 0'
    dmsetup mknodes
    run_it $engine /dev/dm-0 --rw read --bs 64k --ioengine $engine --passes 1 --runtime 60s --verify --seed 7
    dmsetup remove lies
done
