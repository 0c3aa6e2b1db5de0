import type { OperationId, OperationTypes } from './operation-types.ts';

/** The input of an operation: path parameters, query and body fields in one object. */
export type Input<Id extends OperationId> = OperationTypes[Id]['input'];

/** The response of an operation. */
export type Output<Id extends OperationId> = OperationTypes[Id]['output'];

/** One event of the stream of an operation. */
export type StreamItem<Id extends OperationId> = OperationTypes[Id]['event'];

/** One item of a list operation. */
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
