import type * as contract from '@millrace/contract';

/**
 * The only file that looks at the contract, and at its types alone: what each operation takes and answers follows from the
 * schemas by inference. The published package has this file printed in plain words, so that nobody needs the schemas.
 */

type Operations = contract.Contract['operations'];

export type OperationId = keyof Operations;

/** Everything known of a type at once: hovering over an input shows its fields and not how they were put together. */
type Simplify<T> = T extends unknown ? { [K in keyof T]: T[K] } : never;

/** A field that the server reads from text is sent as what it reads. Optional ones may also be given as undefined. */
type SentInput<In, Out> = In extends unknown
  ? {
      [K in keyof In]: unknown extends In[K]
        ? K extends keyof Out
          ? Out[K] | (Record<never, never> extends Pick<In, K> ? undefined : never)
          : never
        : In[K];
    }
  : never;

type NoFields = Record<never, never>;

type ParamsOf<Op extends contract.Operation> = Op extends { readonly params: object }
  ? contract.Params<Op>
  : NoFields;
type QueryOf<Op extends contract.Operation> = Op extends { readonly query: object }
  ? SentInput<contract.QueryInput<Op>, contract.Query<Op>>
  : NoFields;
type BodyOf<Op extends contract.Operation> = Op extends { readonly body: object }
  ? contract.BodyInput<Op>
  : NoFields;

type EventOf<Op> = Op extends {
  readonly response: { readonly event: { readonly _zod: { readonly output: infer Event } } };
}
  ? Event
  : never;

/** For each operation what it takes, what it answers, and what one event of its stream is. */
export type OperationTypes = {
  [Id in OperationId]: {
    readonly input: Simplify<ParamsOf<Operations[Id]> & QueryOf<Operations[Id]> & BodyOf<Operations[Id]>>;
    readonly output: contract.ResponseBody<Operations[Id]>;
    readonly event: EventOf<Operations[Id]>;
  };
};

/** Why a request was refused. */
export type Reason = contract.Reason;
/** Everything that can be told to an organisation, told apart by `type`. */
export type MillraceEvent = contract.EventEnvelope;
export type EventType = contract.EventType;
