# The faults of real runs. Whatever happens to one rank: the job names it, the other ranks end in 10 s, nothing that was
# shared is left, and nothing is reported as delivered. Each on emulated devices, and as job.<name>.cuda on GPUs.

# Lets calls of one rank fail: see its first lines.
find_package(MPI REQUIRED COMPONENTS CXX)
add_library(fault_injector MODULE job/fault_injector.cpp)
target_link_libraries(fault_injector PRIVATE twinlink_common MPI::MPI_CXX ${CMAKE_DL_LIBS})

add_executable(faulty_run job/faulty_run.cpp)
target_link_libraries(faulty_run PRIVATE twinlink_real twinlink_bench test_support fmt::fmt)

# fault_test(<name> [DEVICES <device>...] [FAULT <call:number> | FAULT_<device> <call:number>] <arguments of job_test()>):
# the job on both kinds of devices. @DEVICE@ stands for the kind, @RESULT@ for the arguments that ask for the result
# file. With FAULT that call fails at rank 1: that rank has a command of its own then.
function(fault_test name)
  cmake_parse_arguments(PARSE_ARGV 1 fault "" "PROGRAM;FAULT;FAULT_host;FAULT_cuda" "DEVICES;ARGUMENTS")
  if(NOT fault_DEVICES)
    set(fault_DEVICES host cuda)
  endif()
  foreach(device IN LISTS fault_DEVICES)
    set(test ${name})
    set(labels "")
    if(device STREQUAL "cuda")
      set(test ${name}.cuda)
      set(labels LABELS gpu)
    endif()
    set(files ${CMAKE_CURRENT_BINARY_DIR}/job.${test})
    set(arguments ${fault_ARGUMENTS})
    list(TRANSFORM arguments REPLACE "@DEVICE@" ${device})
    list(TRANSFORM arguments REPLACE "@RESULT@" "--json;${files}.json")
    set(call ${fault_FAULT} ${fault_FAULT_${device}})
    set(mark "")
    if(call)
      set(mark MARK ${files}.mark)
      # The address sanitizer wants to be loaded first.
      list(APPEND arguments // env LD_PRELOAD=$<TARGET_FILE:fault_injector> TWINLINK_FAULT=${call}
           TWINLINK_FAULT_MARK=${files}.mark ASAN_OPTIONS=detect_leaks=0:protect_shadow_gap=0:verify_asan_link_order=0
           $<TARGET_FILE:${fault_PROGRAM}> ${arguments})
    endif()
    job_test(${test} RANKS 2 PROGRAM ${fault_PROGRAM} ARGUMENTS ${arguments} ${fault_UNPARSED_ARGUMENTS} ${mark}
      ABSENT ${files}.json SEGMENTS ${files}.segments ${labels})
  endforeach()
endfunction()
set(run PROGRAM twinlink-real ARGUMENTS run --device @DEVICE@ @RESULT@)

# A rank is killed (kill -9) in the midst of its messages, all of one size: no row is printed before.
fault_test(killed_gpudirect_v2 ${run} --protocol gpudirect-v2 -b 64K -e 64K -i 100000 FAULT MPI:500
  CODE fails SAYS "rank 1 .*exited on.signal 9" SILENT)
fault_test(killed_staging ${run} --protocol staging -b 64K -e 64K -i 100000 FAULT MPI:500
  CODE fails SAYS "rank 1 .*exited on.signal 9" SILENT)
fault_test(killed_symmetric_put_blocks DEVICES host ${run} --protocol symmetric-put -o engine=blocks -b 64K -e 64K
  -i 100000 FAULT MPI:200 CODE fails SAYS "rank 1 .*exited on.signal 9" SILENT)
fault_test(killed_nccl DEVICES host ${run} --protocol nccl -b 64K -e 64K -i 100000 FAULT MPI:200
  CODE fails SAYS "rank 1 .*exited on.signal 9" SILENT)

# The device is full: for both ranks, and for one of which the other hopes for messages.
fault_test(too_large ${run} --protocol gpudirect-v2 -b 512G -e 512G
  CODE 1 SAYS "rank [01] of 2 on .*(out of device memory|cudaMalloc: cudaErrorMemoryAllocation)" SILENT)
fault_test(fill PROGRAM failing_job ARGUMENTS fill @DEVICE@
  CODE 1 SAYS "rank 1 of 2 on .*(out of device memory|cudaMalloc: cudaErrorMemoryAllocation)" SILENT)
set_tests_properties(job.fill.cuda PROPERTIES RUN_SERIAL ON)  # others would find no memory
job_test(full_at_one_rank RANKS 2 ${host} --protocol gpudirect-v2 -e 4M
  // $<TARGET_FILE:twinlink-real> run --host-memory 1M --protocol gpudirect-v2 -e 4M CODE 1
  ONCE "rank 1 of 2 on " SAYS "allocate 4194304 B: out of device memory: emulated:01 has 1048576 B" SILENT)

# The system or the driver refuses to open a peer's memory: from the sixth file on, which is the protocol's own, or
# from the second handle on; the ones before prove at the start that it can be done.
set(refused FAULT_host open:6 FAULT_cuda cudaIpcOpenMemHandle:2)
fault_test(refused_gpudirect_v2 ${run} --protocol gpudirect-v2 -e 64K ${refused}
  CODE 1 SAYS "peer failed: .*(cannot be opened: .*(open /proc|cudaIpcOpenMemHandle)|could not open)" SILENT)
fault_test(refused_symmetric_put ${run} --protocol symmetric-put -e 64K ${refused}
  CODE 1 SAYS "peer failed: .*(open /proc.*Permission denied|cudaIpcOpenMemHandle: cudaErrorMapBufferObjectFailed)" SILENT)
fault_test(refused_cuda_ipc ${run} --protocol cuda-ipc -b 1M -e 1M FAULT_host open:8 FAULT_cuda cudaIpcOpenMemHandle:2
  CODE 1 SAYS "peer failed: .*(the handle was refused: .*(open /proc|cudaIpcOpenMemHandle)|given the exchange up)" SILENT)
fault_test(refused_segment DEVICES host ${run} --protocol cuda-ipc -b 1M -e 1M FAULT open:6
  CODE 1 ONCE "rank 1 of 2 on " SAYS "open /proc.*Permission denied" SILENT)
# At the start, it is a path that the machine lacks.
fault_test(refused_at_the_start ${run} --protocol cuda-ipc -e 4 FAULT_host open:1 FAULT_cuda cudaIpcOpenMemHandle:1
  CODE 77 ONCE "error: rank 0 of 2: " SAYS "Permission denied|cudaErrorMapBufferObjectFailed" SILENT)

# Peer access that drops what it should move, although all calls succeed.
fault_test(lost_gpudirect_v2 PROGRAM faulty_run ARGUMENTS @DEVICE@ gpudirect-v2
  CODE 1 SAYS "rank [01]: gpudirect-v2, 4 B: dropped at byte 0" SILENT)

# There is no room for what a node shares: for the table of exports, before MPI begins, and for a buffer.
fault_test(no_shared_memory_at_the_start ${run} --protocol gpudirect-v2 -e 4 FAULT ftruncate:1
  CODE 1 ONCE "error: rank 1 of 2: " SAYS "ftruncate to [0-9]+ B: No space left on device" SILENT)
fault_test(no_shared_memory_for_signals ${run} --protocol gpudirect-v2 -e 4 FAULT ftruncate:3
  CODE 1 ONCE "rank 1 of 2 on " SAYS "ftruncate to [0-9]+ B: No space left on device" SILENT)
fault_test(no_shared_memory_for_a_buffer DEVICES host ${run} --protocol gpudirect-v2 -e 4 FAULT ftruncate:6
  CODE 1 ONCE "rank 1 of 2 on " SAYS "ftruncate to [0-9]+ B: No space left on device" SILENT)

# /dev/shm has 1 MiB: Open MPI takes sockets instead; Twinlink's own memory does not lie there.
set(small_shm LAUNCHER ${CMAKE_CURRENT_SOURCE_DIR}/with_small_shm RANKS 2 PROGRAM twinlink-real
  CODE 0 ONCE "note: /dev/shm has 1048576 B free" SHOWS "peer copy by the copy engine"
  ARGUMENTS run --protocol gpudirect-v2 -b 4M -e 4M -i 4 -x 1)
job_test(small_shm ${small_shm})
job_test(small_shm.cuda ${small_shm} --device cuda LABELS gpu)
set_property(TEST job.small_shm job.small_shm.cuda APPEND PROPERTY ENVIRONMENT
  OMPI_MCA_pml=ob1 OMPI_MCA_btl_tcp_if_include=lo)

# Two jobs on one node: shared memory, signals and handles of one are nothing to the other.
foreach(device host cuda)
  foreach(protocol gpudirect-v2 cuda-ipc symmetric-put)
    set(test job.two_at_once.${protocol})
    set(labels mpi)
    if(device STREQUAL "cuda")
      string(APPEND test .cuda)
      list(APPEND labels gpu)
    endif()
    add_test(NAME ${test}
      COMMAND ${CMAKE_COMMAND} -D MPIEXEC=${MPIEXEC_EXECUTABLE} -D PROGRAM=$<TARGET_FILE:twinlink-real>
              "-DARGUMENTS=run|--device|${device}|--protocol|${protocol}|-e|64K|-f|16|-i|20|-x|2"
              -P ${CMAKE_CURRENT_SOURCE_DIR}/two_jobs.cmake)
    set_tests_properties(${test} PROPERTIES
      ENVIRONMENT "${twinlink_mpi_environment}"
      LABELS "${labels}" TIMEOUT ${twinlink_mpi_timeout}
      SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  endforeach()
endforeach()

# All of the above and more, by protocol and moment: a dozen jobs, and with the label long every one.
add_executable(campaign_run job/campaign_run.cpp)
target_link_libraries(campaign_run PRIVATE twinlink_real twinlink_bench_measure fmt::fmt)
set(campaign ${CMAKE_CURRENT_SOURCE_DIR}/fault_campaign)
add_test(NAME fault_campaign COMMAND ${campaign} --jobs 12 ${PROJECT_BINARY_DIR})
add_test(NAME fault_campaign.long COMMAND ${campaign} ${PROJECT_BINARY_DIR})
set_tests_properties(fault_campaign PROPERTIES LABELS mpi TIMEOUT 240 PROCESSORS 2)
set_tests_properties(fault_campaign.long PROPERTIES LABELS "mpi;long" TIMEOUT 3600 RUN_SERIAL ON)
