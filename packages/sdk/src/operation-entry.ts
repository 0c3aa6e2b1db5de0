/** What the client must know of an operation to call it. The table of them is generated from the contract. */
export interface OperationEntry {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** With parameters in braces. */
  readonly path: `/${string}`;
  /** Where the fields of the input go that are no parameter of the path. */
  readonly input?: 'query' | 'body';
  /** With `input: 'body'`: the fields that go into the query nevertheless. */
  readonly query?: readonly string[];
  /**
   * When a call may be sent again without asking. `safe`: any time, for it changes nothing or sets what it sets. `key`: any
   * time, under the same Idempotency-Key. `refusal`: only when the first was certainly refused, for it costs money each time.
   */
  readonly retry: 'safe' | 'key' | 'refusal';
  /** Served by the gateways of inference rather than by the api. */
  readonly gateway?: true;
  /** How a stream of events is asked for instead of the plain answer. */
  readonly sse?: 'accept' | 'body';
  /** Where the items of a list stand in its answer and how its next page is asked for. */
  readonly list?: ListShape;
  /** What the plain answer is; JSON unless told. */
  readonly responseKind?: 'nothing' | 'bytes' | 'text';
}

export interface ListShape {
  /** The field of the answer that holds the items; absent when the answer is the array itself. */
  readonly items?: string;
  /** The field of the answer that names the next page, or the `Link` header; absent when there is one page only. */
  readonly next?: 'nextCursor' | 'next_cursor' | 'link';
  /** The field of the input that takes it. */
  readonly sends?: 'cursor' | 'after';
}
