for engine in $engines; do
    dmsetup create failing --table "0 1572864 linear /dev/ram0 0"
    dmsetup mknodes
    (sleep 2; dmsetup reload failing --table "0 1572864 error"; dmsetup resume failing) &
    run_it $engine /dev/dm-0 --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 6s
    wait
    dmsetup remove failing
done
