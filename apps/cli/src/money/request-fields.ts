/** The JSON fields of an inference request's usage, alone or in a batch. */
export const requestFields = [
  'id',
  'model',
  'deployment',
  'created_at',
  'streamed',
  'cancelled',
  'finish_reason',
  'latency_ms',
  'ttft_ms',
  'generation_ms',
  'tokens_prompt',
  'tokens_completion',
  'tokens_cached',
  'cost_nano_usd',
  'attempts',
] as const;
