import { describe, expect, it } from 'vitest';
import { publishesLoad, readLoad } from './engine-load.ts';

const llama = `# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 120
# HELP llamacpp:requests_processing Number of requests processing.
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 3
# HELP llamacpp:requests_deferred Number of requests deferred.
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 2
`;

const vllm = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a {b} c"} 5.0
vllm:num_requests_running{engine="1",model_name="a {b} c"} 2.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="a {b} c"} 1.0
vllm:num_requests_waiting{engine="1",model_name="a {b} c"} 0.0
vllm:num_requests_waiting_by_reason{reason="capacity"} 99.0
vllm:kv_cache_usage_perc{engine="0"} 0.25`;

const sglang = `sglang:num_running_reqs{model_name="m"} 7.0 1763200000000
sglang:num_queue_reqs{model_name="m"} 1.0
sglang:token_usage{model_name="m"} 0.5
`;

describe('readLoad', () => {
  it('reads the metrics of each engine and sums them over its workers', () => {
    expect(readLoad('llama.cpp', llama)).toEqual({ running: 3, waiting: 2 });
    expect(readLoad('vllm', vllm)).toEqual({ running: 7, waiting: 1 });
    expect(readLoad('sglang', sglang)).toEqual({ running: 7, waiting: 1 });
  });

  it('returns null if the metrics are missing, from another engine or not numeric', () => {
    expect(readLoad('vllm', llama)).toBeNull();
    expect(readLoad('llama.cpp', '')).toBeNull();
    expect(readLoad('llama.cpp', llama.replace('processing 3', 'processing NaN'))).toBeNull();
    expect(readLoad('llama.cpp', llama.replace('deferred 2', 'deferred'))).toBeNull();
    expect(readLoad('openai', llama)).toBeNull();
    expect([publishesLoad('openai'), publishesLoad('sglang')]).toEqual([false, true]);
  });
});
