import type { ErrorDefinition } from './definition.ts';

export const inferenceErrors = {
  MODEL_NOT_FOUND: {
    status: 404,
    message: 'No such model.',
    suggestion: 'GET /v1/models lists the models that this key can use.',
    retryable: false,
  },
  MODEL_NOT_ALLOWED: {
    status: 403,
    message: 'This API key does not allow this model.',
    suggestion: 'Use a model that the limits of the key allow. GET /v2/me shows the limits.',
    retryable: false,
  },
  MODEL_NOT_AVAILABLE: {
    status: 503,
    message: 'No deployment of this model can accept requests right now.',
    suggestion: 'Try again after the time in the Retry-After header, or use another model.',
    retryable: true,
  },
  MODEL_OVERLOADED: {
    status: 429,
    message: 'All deployments of this model are at capacity.',
    suggestion: 'Try again after the time in the Retry-After header.',
    retryable: true,
  },
  CONTEXT_LENGTH_EXCEEDED: {
    status: 400,
    message: 'The prompt and the requested completion exceed the context length of the model.',
    suggestion: 'Shorten the messages or lower max_tokens.',
    retryable: false,
  },
  PARAMETER_NOT_SUPPORTED: {
    status: 400,
    message: 'This model does not support a parameter of the request.',
    suggestion: 'Remove the named parameter, or use a model that supports it.',
    retryable: false,
  },
  UPSTREAM_ERROR: {
    status: 502,
    message: 'The engine that runs the model failed.',
    suggestion: 'Try again. You are charged only for what was delivered.',
    retryable: true,
  },
  UPSTREAM_TIMEOUT: {
    status: 504,
    message: 'The engine that runs the model did not respond in time.',
    suggestion: 'Try again, or request fewer tokens.',
    retryable: true,
  },
  KEY_FEED_STALE: {
    status: 503,
    message: 'This gateway has lost the key feed and refuses requests until the feed is back.',
    suggestion: 'Try again after the time in the Retry-After header.',
    retryable: true,
  },
  REQUEST_NOT_FOUND: {
    status: 404,
    interfaceStatus: 400,
    message: 'No such inference request.',
    suggestion: 'Use the id from the X-Inference-Request-Id header of the response.',
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
    message: 'Another model already has this name or alias.',
    suggestion: 'Choose another name, or remove the alias from the other model first.',
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
