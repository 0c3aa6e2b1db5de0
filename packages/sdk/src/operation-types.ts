import type * as contract from '@millrace/contract';

/**
 * The only file that uses the contract, and only its types: inputs and outputs are inferred from the schemas.
 * The published package has this file with all types expanded, so that it does not need the schemas.
 */

type Operations = contract.Contract['operations'];

export type OperationId = keyof Operations;

/** Expands a type, so that editors show its fields. */
type Simplify<T> = T extends unknown ? { [K in keyof T]: T[K] } : never;

/** A field that the server coerces from text is sent as the coerced type. Optional fields may be undefined. */
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

/** The input, the output and the stream event of each operation. */
export type OperationTypes = {
  [Id in OperationId]: {
    readonly input: Simplify<ParamsOf<Operations[Id]> & QueryOf<Operations[Id]> & BodyOf<Operations[Id]>>;
    readonly output: contract.ResponseBody<Operations[Id]>;
    readonly event: EventOf<Operations[Id]>;
  };
};

export type Reason = contract.Reason;
/** All events, discriminated by `type`. */
export type MillraceEvent = contract.EventEnvelope;
export type EventType = contract.EventType;
