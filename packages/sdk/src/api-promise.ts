import type { ResponseOutcome } from './transport.ts';

/** An answer with what came around it. */
export interface WithResponse<T> {
  readonly data: T;
  /** Status and headers; its body has been read. */
  readonly response: Response;
  readonly requestId: string | null;
}

export interface PendingRequest<T> {
  /** Sends the call and reads the answer. */
  readonly read: () => Promise<ResponseOutcome<T>>;
  /** Sends the call and leaves the body of the answer unread. */
  readonly raw: () => Promise<Response>;
}

/**
 * The answer to come: await it for the data, or ask for more. The request is sent at once, whether anybody waits for it or
 * not: at the end of the present turn, so that `asResponse()` can still ask to leave the body alone.
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

  /** The data together with the response and the id of the request. */
  async withResponse(): Promise<WithResponse<T>> {
    const outcome = await this.#outcome;
    if (outcome !== null) return outcome;
    throw new TypeError('The body was asked for as it comes, with asResponse().');
  }

  /** The response with its body unread, to stream it somewhere. To be called at once or not at all. */
  asResponse(): Promise<Response> {
    // Asking now would make the call a second time, with whatever it does.
    if (this.#isBeingRead)
      return Promise.reject(new TypeError('asResponse() comes too late: the body is being read already.'));
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
