import type { DeploymentEntry } from '@millrace/core/inference';
import type { EngineFailure } from '../text/text-adapter.ts';

/** Interface to engines of images and speech. They do not stream: a response is complete or a failure. */

/** `path` is appended to the deployment's address. */
export interface MediaRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
}

export interface MediaResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** One request to the deployment with its complete response. The caller limits time and size. */
export type SendUpstream = (request: MediaRequest, signal: AbortSignal) => Promise<MediaResponse>;

export interface MediaContext {
  readonly deployment: DeploymentEntry;
  readonly requestId: string;
}

export interface MediaAdapter<Request, Output> {
  /** API names of the fields that this engine cannot honour. Needs no call, so that requests can be routed by it. */
  unsupportedFields(request: Request, deployment: DeploymentEntry): readonly string[];
  /** Returns validated output. Throws `MediaEngineError` or any error of `call`. */
  run(request: Request, facts: MediaContext, call: SendUpstream, signal: AbortSignal): Promise<Output>;
}

/** The engine refused, failed or sent an invalid response. */
export class MediaEngineError extends Error {
  readonly failure: EngineFailure;
  constructor(failure: EngineFailure) {
    super(failure.message);
    this.name = 'EngineFailed';
    this.failure = failure;
  }
}

/** The response violates the engine's protocol. It is not charged, and another deployment may be tried. */
export function invalidMediaResponse(what: string): MediaEngineError {
  return new MediaEngineError({ status: 200, reason: 'UPSTREAM_ERROR', message: what, retryable: true });
}
