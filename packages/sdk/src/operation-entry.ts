/** How the client calls an operation. The table of entries is generated from the contract. */
export interface OperationEntry {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** With parameters in braces. */
  readonly path: `/${string}`;
  /** Where input fields go that are not path parameters. */
  readonly input?: 'query' | 'body';
  /** With `input: 'body'`: fields that go into the query. */
  readonly query?: readonly string[];
  /**
   * When a call may be retried. `safe`: always, because it changes nothing or is idempotent. `key`: always,
   * with the same Idempotency-Key. `refusal`: only after a certain refusal, because each execution costs
   * money.
   */
  readonly retry: 'safe' | 'key' | 'refusal';
  /** Served by the inference gateways. */
  readonly gateway?: true;
  /** How a stream is requested instead of a plain response. */
  readonly sse?: 'accept' | 'body';
  /** Where a response has the items of a list, and how the next page is requested. */
  readonly list?: ListShape;
  /** The kind of a plain response; default JSON. */
  readonly responseKind?: 'nothing' | 'bytes' | 'text';
}

export interface ListShape {
  /** The response field with the items; absent if the response is the array. */
  readonly items?: string;
  /** The response field, or `Link` header, with the next page; absent if there is only one page. */
  readonly next?: 'nextCursor' | 'next_cursor' | 'link';
  /** The input field for the next page. */
  readonly sends?: 'cursor' | 'after';
}
