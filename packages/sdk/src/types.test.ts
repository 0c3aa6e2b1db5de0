import { expectTypeOf, test } from 'vitest';
import type { Millrace } from './client.ts';
import type { Output, Input, Item, StreamItem } from './types.ts';

/** The compiler checks these types; nothing runs. */

test('inputs have the fields of path, query and body, with defaults optional', () => {
  expectTypeOf<Input<'getRental'>>().toEqualTypeOf<{ rentalId: number }>();
  expectTypeOf<{ organisationId: string; userId: string; role: 'viewer' }>().toExtend<
    Input<'updateMember'>
  >();
  expectTypeOf<Record<never, never>>().toExtend<Input<'listApiKeys'>>();
  expectTypeOf<{ limit: number; cursor: undefined }>().toExtend<Input<'listApiKeys'>>();
  expectTypeOf<{ limit: string }>().not.toExtend<Input<'listApiKeys'>>();
  expectTypeOf<{ gpuCount: 1 }>().toExtend<Input<'createVirtualMachineRental'>>();
  expectTypeOf<{ rentalId: 1; ttlSeconds: 60 }>().toExtend<Input<'extendRental'>>();
  expectTypeOf<{ rentalId: 1 }>().not.toExtend<Input<'extendRental'>>();
});

test('outputs, items and events have the types of the schemas', () => {
  expectTypeOf<Output<'getRental'>['status']>().toEqualTypeOf<
    'Pending' | 'Running' | 'Failed' | 'Unknown' | 'Terminating' | 'Terminated'
  >();
  expectTypeOf<Output<'removeMember'>>().toEqualTypeOf<void>();
  expectTypeOf<Item<'listApiKeys'>['publicId']>().toBeString();
  expectTypeOf<Item<'listBareMetalRentals'>['rentalType']>().not.toBeNever();
  expectTypeOf<Item<'listModels'>['owned_by']>().toBeString();
  expectTypeOf<Item<'listMarketplaceInstances'>['sshCommand']>().toEqualTypeOf<string | null>();
  expectTypeOf<StreamItem<'listEvents'>['seq']>().toBeNumber();
  expectTypeOf<StreamItem<'createChatCompletion'>['choices']>().toBeArray();
});

test('a chat returns a stream exactly if it is requested', () => {
  type Create = Millrace['chat']['create'];
  const create = (() => undefined) as unknown as Create;
  const input = { model: 'm', messages: [{ role: 'user' as const, content: 'hello' }] };
  expectTypeOf(() => create({ ...input, stream: true })).returns.toHaveProperty(Symbol.asyncIterator);
  expectTypeOf(() => create(input)).returns.resolves.toHaveProperty('usage');
});
