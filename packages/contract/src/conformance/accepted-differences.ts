/** The accepted differences to docs/interface.md. The comparison refuses others, and entries without effect. */
export interface AcceptedDifference {
  /** Fields that the text does not have. */
  readonly additions?: readonly string[];
  /** Facts that the text leaves open or wider: the value in the text (null: none) and in the contract. */
  readonly facts?: Readonly<Record<string, readonly [text: string | null, contract: string]>>;
  /** Facts of the text that apply to one of several accepted types; they are probed instead of compared. */
  readonly open?: readonly string[];
}

const maxSafeInteger = String(Number.MAX_SAFE_INTEGER);

/** GPU counts are integers; the records store them in 32 bits. */
const wholeGpus: NonNullable<AcceptedDifference['facts']> = {
  'gpuCount type': ['number', 'integer'],
  'gpuCount max': [null, '2147483647'],
};

const rentalAdditions = ['name', 'sshKeyIds', 'userData', 'image', 'ttlSeconds', 'maxUsd', 'idle', 'tags'];

const instanceAdditions = ['name', 'ssh_key_ids', 'user_data', 'ttl_seconds', 'max_usd', 'idle', 'tags'];

const measuredInference = ['inference_time'];

/** Subjects whose schema the text does not specify ("not shown", "free schema"). */
export const unspecifiedSubjects: readonly string[] = [
  'GET /v2/openapi.json response',
  'POST /v1/marketplace/instances/create response',
  'POST /v1/marketplace/instances response',
  'GET /v1/marketplace/instances response',
  'GET /v1/marketplace/instances/history response',
  'POST /v1/marketplace/instances/terminate response',
  'GET /billing/get_current_balance response',
];

export const acceptedDifferences: Readonly<Record<string, AcceptedDifference>> = {
  // The text promises an object; these are its keys.
  'Marketplace machine': {
    additions: [
      'network.public_ip',
      'network.bandwidth_mbps_down',
      'network.bandwidth_mbps_up',
      'network.interconnect',
      'network.ports_available',
    ],
  },
  // Model hubs bill by this value, so it is always an integer.
  'POST /v2/usage/request-cost response': {
    facts: {
      'requests[].costNanoUsd type': ['number', 'integer'],
      'requests[].costNanoUsd min': [null, `-${maxSafeInteger}`],
      'requests[].costNanoUsd max': [null, maxSafeInteger],
    },
  },
  'POST /v2/alpha/on-demand/bare-metal-rentals request': { additions: rentalAdditions, facts: wholeGpus },
  'POST /v2/alpha/on-demand/virtual-machine-rentals request': {
    additions: rentalAdditions,
    facts: { ...wholeGpus, 'gpuCount min': [null, '1'] },
  },
  'POST /v2/alpha/on-demand/request-reservation request': {
    facts: { 'gpuCount type': ['number', 'integer'], 'gpuCount max': [null, maxSafeInteger] },
  },
  'POST /v2/alpha/on-demand/storage-volumes request': { additions: ['name', 'maxUsd', 'tags'] },
  'POST /v1/marketplace request': {
    additions: ['sort', 'limit', 'cursor', 'filters.'],
    facts: { 'filters default': [null, '{}'] },
  },
  'POST /v1/marketplace response': { additions: ['next_cursor'] },
  'POST /v1/marketplace/instances/create request': {
    additions: [...instanceAdditions, 'image.ports'],
    facts: {
      'gpu_count type': ['number', 'integer'],
      'gpu_count min': [null, '1'],
      'gpu_count max': [null, maxSafeInteger],
      'image.port type': ['number', 'integer'],
      'image.port min': [null, '1'],
      'image.port max': [null, '65535'],
    },
  },
  'POST /v1/chat/completions request': {
    additions: [
      'tools',
      'tool_choice',
      'response_format',
      'stream_options',
      'max_completion_tokens',
      'messages[]<role=developer>',
      'messages[]<role=tool>',
      'messages[]<role=system>.name',
      'messages[]<role=user>.name',
      'messages[]<role=assistant>.name',
      'messages[]<role=assistant>.tool_calls',
    ],
    facts: {
      'messages minItems': [null, '1'],
      'model minLength': [null, '1'],
      // An assistant message with tool calls needs no content; a refinement requires it otherwise.
      'messages[]<role=assistant>.content required': ['true', 'false'],
      'logprobs type': ['integer', 'boolean|integer'],
      'stop type': ['array', 'array|string'],
      'max_tokens min': [`-${maxSafeInteger}`, '1'],
      'n min': [`-${maxSafeInteger}`, '1'],
      'repetition_penalty above': [null, '0'],
    },
    open: ['logprobs min', 'logprobs max', 'stop[] type'],
  },
  'POST /v1/chat/completions event': {
    additions: [
      'choices[].delta.role',
      'choices[].delta.reasoning_content',
      'choices[].delta.tool_calls',
      'choices[].logprobs',
      'usage',
    ],
  },
  'POST /v1/chat/completions response': {
    additions: [
      'choices[].message.reasoning_content',
      'choices[].message.tool_calls',
      'choices[].logprobs',
      'usage.prompt_tokens_details',
      'usage.cost_nano_usd',
    ],
    // Null only with tool calls, which the text does not have.
    facts: { 'choices[].message.content nullable': [null, 'true'] },
  },
  'POST /v1/image/generation request': {
    additions: [
      'negative_prompt',
      'prompt_2',
      'negative_prompt_2',
      'style_preset',
      'image',
      'controlnet_name',
      'controlnet_image',
      'seed',
      'strength',
      'cfg_scale',
      'steps',
      'sampler',
      'enable_refiner',
      'lora',
    ],
    facts: {
      'model_name minLength': [null, '1'],
      'prompt maxLength': [null, '20000'],
      'height min': [`-${maxSafeInteger}`, '128'],
      'height max': [maxSafeInteger, '2496'],
      'width min': [`-${maxSafeInteger}`, '128'],
      'width max': [maxSafeInteger, '2496'],
    },
  },
  'POST /v1/image/generation response': {
    additions: ['images[].index', 'images[].random_seed', ...measuredInference],
  },
  'POST /v1/audio/generation request': {
    additions: ['language', 'speaker', 'speed', 'sdp_ratio', 'noise_scale', 'noise_scale_w', 'model'],
    facts: { 'text minLength': [null, '1'], 'text maxLength': [null, '20000'] },
  },
  'POST /v1/audio/generation response': { additions: ['sample_rate', 'usage', ...measuredInference] },
};
