import type { OperationId, OperationTypes } from './operation-types.ts';

/** What a call takes: the parameters of its path, its query and the fields of its body, in one object. */
export type Input<Id extends OperationId> = OperationTypes[Id]['input'];

/** What a call answers. */
export type Output<Id extends OperationId> = OperationTypes[Id]['output'];

/** One event of the stream that a call can answer with. */
export type StreamItem<Id extends OperationId> = OperationTypes[Id]['event'];

/** One item of the list that a call answers with. */
export type Item<Id extends OperationId> = ItemOf<Output<Id>>;

type ItemOf<List> = List extends readonly (infer Entry)[]
  ? Entry
  : List extends { readonly items: readonly (infer Entry)[] }
    ? Entry
    : List extends { readonly instances: readonly (infer Entry)[] }
      ? Entry
      : List extends { readonly instance_history: readonly (infer Entry)[] }
        ? Entry
        : List extends { readonly purchase_history: readonly (infer Entry)[] }
          ? Entry
          : List extends { readonly data: readonly (infer Entry)[] }
            ? Entry
            : never;
