// What is written of a call: each hook runs it and writes it, if it went well. functions.hpp says which is whose.
#pragma once

#include "real/record/call.hpp"

namespace twinlink::record {

int send(Call& call);
int send_init(Call& call);
int receive(Call& call);
int begin_receive(Call& call);
int receive_init(Call& call);
int start(Call& call);
int send_receive(Call& call);
int probe(Call& call);
int ask(Call& call);
int receive_probed(Call& call);
int wait_one(Call& call);
int wait_all(Call& call);
int wait_any(Call& call);
int wait_some(Call& call);
int test_one(Call& call);
int test_all(Call& call);
int test_any(Call& call);
int let_go(Call& call);
int cancel(Call& call);
int make_communicator(Call& call);
int free_communicator(Call& call);
int barrier(Call& call);
int broadcast(Call& call);
int reduce(Call& call);
int all_reduce(Call& call);
int scan(Call& call);
int reduce_scatter(Call& call);
int reduce_scatter_block(Call& call);
int gather(Call& call);
int gather_blocks(Call& call);
int scatter(Call& call);
int scatter_blocks(Call& call);
int all_gather(Call& call);
int all_gather_blocks(Call& call);
int all_to_all(Call& call);
int all_to_all_blocks(Call& call);
int all_to_all_types(Call& call);
int count(Call& call);

}  // namespace twinlink::record
