for engine in $engines; do
    run_it $engine /dev/sda --rw read --bs 64k --iodepth 4 --ioengine $engine --runtime 20s
done
