import type { ErrorDefinition } from './definition.ts';

/** Serverless inference: models, upstreams and streams. */
export const inferenceErrors = {
  MODEL_NOT_FOUND: {
    status: 404,
    message: 'No such model.',
    suggestion: 'GET /v1/models lists the models this key may use.',
    retryable: false,
  },
  MODEL_NOT_ALLOWED: {
    status: 403,
    message: 'This API key may not use this model.',
    suggestion: 'Use a model its limits allow; GET /v2/me shows them.',
    retryable: false,
  },
  MODEL_NOT_AVAILABLE: {
    status: 503,
    message: 'No deployment of this model can take requests right now.',
    suggestion: 'Try again after Retry-After, or use another model.',
    retryable: true,
  },
  MODEL_OVERLOADED: {
    status: 429,
    message: 'Every deployment of this model is at its limit.',
    suggestion: 'Try again after Retry-After.',
    retryable: true,
  },
  CONTEXT_LENGTH_EXCEEDED: {
    status: 400,
    message: 'Prompt and requested completion do not fit into the context of the model.',
    suggestion: 'Shorten the messages or lower max_tokens.',
    retryable: false,
  },
  PARAMETER_NOT_SUPPORTED: {
    status: 400,
    message: 'This model does not support a parameter of the request.',
    suggestion: 'Leave the named parameter out, or choose a model that supports it.',
    retryable: false,
  },
  UPSTREAM_ERROR: {
    status: 502,
    message: 'The engine that runs the model failed.',
    suggestion: 'Try again; only what was delivered is charged.',
    retryable: true,
  },
  UPSTREAM_TIMEOUT: {
    status: 504,
    message: 'The engine that runs the model did not answer in time.',
    suggestion: 'Try again, or ask for fewer tokens.',
    retryable: true,
  },
  KEY_FEED_STALE: {
    status: 503,
    message: 'This gateway has lost the feed of revoked keys and admits nothing until it is back.',
    suggestion: 'Try again after Retry-After.',
    retryable: true,
  },
  REQUEST_NOT_FOUND: {
    status: 404,
    interfaceStatus: 400,
    message: 'No such inference request.',
    suggestion: 'Use the id from the X-Inference-Request-Id header of the answer.',
    retryable: false,
  },
  BATCH_NOT_FOUND: {
    status: 404,
    interfaceStatus: 400,
    message: 'No such batch of inference requests.',
    suggestion:
      'Use cause.id of a ledger line whose cause.kind is inference, such as bat_01JD8Q7XK4T2M9V6B3N5C1F0GH.',
    retryable: false,
  },
  MODEL_NAME_TAKEN: {
    status: 409,
    interfaceStatus: 400,
    message: 'Another model has this name or alias already.',
    suggestion: 'Choose another name, or take the alias from the other model first.',
    retryable: false,
  },
  DEPLOYMENT_NOT_FOUND: {
    status: 404,
    interfaceStatus: 400,
    message: 'No such deployment.',
    suggestion: 'Check the deployment id.',
    retryable: false,
  },
} as const satisfies Record<string, ErrorDefinition>;
