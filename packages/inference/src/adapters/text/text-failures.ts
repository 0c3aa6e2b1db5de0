import { TextEngineError, type EngineFailure } from './text-adapter.ts';
import { asObject, asText, parseJson, type JsonObject } from './engine-json.ts';

/**
 * Maps engine errors to our own messages. Engine messages can quote the prompt, so nothing of them is shown, logged or stored
 * except the name of a known parameter.
 */

interface EngineErrorBody {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
}

/** The three shapes in use: nested `error`, flat with `object: "error"`, and `detail`. */
function parseErrorBody(body: JsonObject): EngineErrorBody {
  const error = asObject(body['error']) ?? body;
  const message = asText(error['message']) ?? asText(body['error']) ?? detailOf(body['detail']);
  const type = `${asText(error['type']) ?? ''} ${asText(error['code']) ?? ''}`;
  return { message, type, param: asText(error['param']) ?? namedField.exec(message)?.[1] ?? null };
}

/** llama-server names the field in its message. */
const namedField = /^Field '([a-z_]+)':/;

function detailOf(detail: unknown): string {
  if (typeof detail === 'string') return detail;
  return detail === undefined ? '' : JSON.stringify(detail);
}

const tooLong =
  /exceed_context_size|context_length_exceeded|context (length|size|window)|maximum (context|input|model) length|longer than the model|too (long|many tokens)|max_model_len/i;
const unsupported =
  /not (currently )?supported|unsupported|does not support|unrecognized|unknown (parameter|field|argument)|not permitted|value must be between|requires? --/i;
/** Client errors that llama-server reports as 500: conversations that its template refuses, and images for a text model. */
const refusedAsFailure = /jinja|chat template|raise_exception|conversation roles|input is not supported/i;

/** Parameters that may be named to the client. */
const knownParameter =
  /\b(messages|frequency_penalty|logit_bias|logprobs|top_logprobs|max_tokens|max_completion_tokens|n|presence_penalty|seed|stop|stream_options|temperature|top_p|top_k|min_p|repetition_penalty|tools|tool_choice|response_format|prompt|echo|suffix|user)\b/;

export function toTextFailure(status: number, text: string): EngineFailure {
  return classifyFailure(
    status,
    parseErrorBody(asObject(parseJson(text)) ?? { message: text.slice(0, 2_000) }),
  );
}

function classifyFailure(status: number, body: EngineErrorBody): EngineFailure {
  const words = `${body.type} ${body.message}`;
  if (
    status === 400 ||
    status === 413 ||
    status === 422 ||
    (status === 500 && refusedAsFailure.test(words))
  ) {
    return requestFailure(status, words, body);
  }
  if (status === 429) {
    return {
      status,
      reason: 'MODEL_OVERLOADED',
      message: 'The engine is full.',
      retryable: true,
    };
  }
  if (status === 408 || status === 504) {
    return { status, reason: 'UPSTREAM_TIMEOUT', message: 'The engine timed out.', retryable: true };
  }
  return upstreamError(status, `The engine returned status ${status}.`);
}

/** The request is invalid, so another deployment would refuse it too. */
function requestFailure(status: number, words: string, body: EngineErrorBody): EngineFailure {
  if (tooLong.test(words)) {
    return {
      status,
      reason: 'CONTEXT_LENGTH_EXCEEDED',
      message: 'The prompt and the requested completion exceed the context length of the model.',
      retryable: false,
    };
  }
  const name = knownParameter.exec(body.param ?? '')?.[1] ?? null;
  const subject = name === null ? 'a parameter of the request' : `the parameter ${name}`;
  return unsupported.test(words)
    ? {
        status,
        reason: 'PARAMETER_NOT_SUPPORTED',
        message: `The model does not support ${subject}.`,
        retryable: false,
      }
    : { status, reason: 'VALIDATION_FAILED', message: `The engine refused ${subject}.`, retryable: false };
}

/** Known to be unsupported, so the engine is not called. */
export function unsupportedParameter(parameter: string): EngineFailure {
  return {
    status: null,
    reason: 'PARAMETER_NOT_SUPPORTED',
    message: `The model does not support the parameter ${parameter}.`,
    retryable: false,
  };
}

export function upstreamError(status: number | null, message: string): EngineFailure {
  return { status, reason: 'UPSTREAM_ERROR', message, retryable: true };
}

/** Returns null unless the event contains an error. */
export function failureInEvent(event: JsonObject): EngineFailure | null {
  const error = event['error'];
  const isError = (error !== undefined && error !== null) || event['object'] === 'error';
  if (!isError) return null;
  const { code } = asObject(error) ?? event;
  const status = typeof code === 'number' && code >= 400 && code <= 599 ? code : 500;
  return classifyFailure(status, parseErrorBody(event));
}

export function textEngineError(message: string): TextEngineError {
  return new TextEngineError(upstreamError(null, message));
}
