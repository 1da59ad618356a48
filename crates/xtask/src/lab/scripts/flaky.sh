for engine in $engines; do
    dmsetup create flaky --table "0 262144 flakey /dev/ram0 0 3 2"
    dmsetup mknodes
    run_it $engine /dev/dm-0 --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 8s
    dmsetup remove flaky
done
