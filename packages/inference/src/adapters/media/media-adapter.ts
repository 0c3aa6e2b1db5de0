import type { DeploymentEntry } from '@millrace/core/inference';
import type { EngineFailure } from '../text/text-adapter.ts';

/** What engines of images and speech are spoken to through. Nothing is streamed: an answer is whole, or there is none. */

/** `path` is put behind the address of the deployment. */
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

/** One request to the deployment, its answer whole. Bounded in time and size by whoever gives it. */
export type SendUpstream = (request: MediaRequest, signal: AbortSignal) => Promise<MediaResponse>;

export interface MediaContext {
  readonly deployment: DeploymentEntry;
  readonly requestId: string;
}

export interface MediaAdapter<Request, Output> {
  /**
   * The fields of the request that this engine cannot honour, by their names on the wire; empty when it can do all of
   * it. Known without asking the engine, so that a request is routed to where it can be done.
   */
  unsupportedFields(request: Request, deployment: DeploymentEntry): readonly string[];
  /** Throws `MediaEngineError`, or whatever `call` throws. What it answers was looked at: it is what was asked for. */
  run(request: Request, facts: MediaContext, call: SendUpstream, signal: AbortSignal): Promise<Output>;
}

/** An engine refused or failed, or answered something that is no answer. */
export class MediaEngineError extends Error {
  readonly failure: EngineFailure;
  constructor(failure: EngineFailure) {
    super(failure.message);
    this.name = 'EngineFailed';
    this.failure = failure;
  }
}

/** The engine's word was not what its protocol says. Nothing is charged for it, and another may do better. */
export function invalidMediaResponse(what: string): MediaEngineError {
  return new MediaEngineError({ status: 200, reason: 'UPSTREAM_ERROR', message: what, retryable: true });
}
