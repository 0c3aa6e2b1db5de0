import type { ResponseOutcome } from './transport.ts';

/** The data of a response with the response itself. */
export interface WithResponse<T> {
  readonly data: T;
  /** Status and headers; the body has been read. */
  readonly response: Response;
  readonly requestId: string | null;
}

export interface PendingRequest<T> {
  /** Sends the request and reads the response. */
  readonly read: () => Promise<ResponseOutcome<T>>;
  /** Sends the request and leaves the response body unread. */
  readonly raw: () => Promise<Response>;
}

/**
 * The promise of a response. The request is always sent, even if the promise is not awaited. It is sent at the
 * end of the current tick, so that `asResponse()` can still leave the body unread.
 */
export class ApiPromise<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = 'ApiPromise';
  readonly #sending: PendingRequest<T>;
  readonly #outcome: Promise<ResponseOutcome<T> | null>;
  #raw: Promise<Response> | null = null;
  #isBeingRead = false;

  constructor(sending: PendingRequest<T>) {
    this.#sending = sending;
    this.#outcome = Promise.resolve().then(() => {
      this.#isBeingRead = this.#raw === null;
      return this.#isBeingRead ? sending.read() : null;
    });
  }

  /** The data with the response and the request id. */
  async withResponse(): Promise<WithResponse<T>> {
    const outcome = await this.#outcome;
    if (outcome !== null) return outcome;
    throw new TypeError('withResponse() is not possible after asResponse(), which leaves the body unread.');
  }

  /** The response with an unread body, for streaming. Call it immediately after the operation. */
  asResponse(): Promise<Response> {
    // Sending now would execute the operation a second time.
    if (this.#isBeingRead)
      return Promise.reject(
        new TypeError('asResponse() was called too late: the body is already being read.'),
      );
    this.#raw ??= this.#sending.raw();
    return this.#raw;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(null, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.withResponse()
      .then(({ data }) => data)
      .finally(onFinally);
  }
}
