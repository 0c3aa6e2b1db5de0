import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createComponents } from './components.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe('createComponents', () => {
  it('publishes a component once if its request and response schemas are equal', () => {
    const components = createComponents();
    const colour = z.enum(['red', 'blue']).meta({ id: 'Colour' });
    components.use(z.object({ colour }), 'input');
    components.use(z.object({ colour }), 'output');
    expect(components.schemas()).toEqual({ Colour: { type: 'string', enum: ['red', 'blue'] } });
  });

  it('publishes a component twice if they differ, with everything that refers to it', () => {
    const components = createComponents();
    const size = z.object({ width: z.number().default(1) }).meta({ id: 'Size' });
    const box = z.object({ size }).meta({ id: 'Box' });
    const label = z.object({ flat: z.boolean() }).meta({ id: 'Label' });
    const sent = components.use(z.object({ box, label }), 'input');
    components.use(z.object({ box, label }), 'output');
    expect(Object.keys(components.schemas())).toEqual(['Box', 'BoxInput', 'Label', 'Size', 'SizeInput']);
    expect(components.settle(sent)).toMatchObject({
      properties: { box: ref('BoxInput'), label: ref('Label') },
    });
    expect(components.schemas()['BoxInput']).toMatchObject({ properties: { size: ref('SizeInput') } });
    expect(components.schemas()['Box']).toMatchObject({ properties: { size: ref('Size') } });
  });

  it('refuses components with the same name and different schemas', () => {
    const components = createComponents();
    components.use(z.string().meta({ id: 'Name' }), 'output');
    expect(() => components.use(z.number().meta({ id: 'Name' }), 'output')).toThrow(/"Name"/);
  });

  it('publishes each branch of a union discriminated by a string, with a mapping', () => {
    const components = createComponents();
    const shape = z
      .discriminatedUnion('kind', [
        z.object({ kind: z.literal('round-disc'), radius: z.number() }),
        z.object({ kind: z.literal('square') }),
      ])
      .meta({ id: 'Shape' });
    components.use(shape, 'output');
    const schemas = components.schemas();
    expect(Object.keys(schemas)).toEqual(['Shape', 'ShapeRoundDisc', 'ShapeSquare']);
    expect(schemas['Shape']).toEqual({
      oneOf: [ref('ShapeRoundDisc'), ref('ShapeSquare')],
      discriminator: {
        propertyName: 'kind',
        mapping: { 'round-disc': ref('ShapeRoundDisc').$ref, square: ref('ShapeSquare').$ref },
      },
    });
  });

  it('publishes one component per branch if discriminator values differ only in punctuation', () => {
    const components = createComponents();
    const host = z
      .discriminatedUnion('provider', [
        z.object({ provider: z.literal('gpu-1'), a: z.number() }),
        z.object({ provider: z.literal('gpu1'), b: z.number() }),
        z.object({ provider: z.literal('gpu.1'), c: z.number() }),
      ])
      .meta({ id: 'Host' });
    components.use(host, 'output');
    const schemas = components.schemas();
    expect(schemas['Host']?.['discriminator']).toEqual({
      propertyName: 'provider',
      mapping: {
        'gpu-1': ref('HostGpu1').$ref,
        gpu1: ref('HostGpu1_2').$ref,
        'gpu.1': ref('HostGpu1_3').$ref,
      },
    });
    expect(schemas['HostGpu1_2']).toMatchObject({ properties: { provider: { const: 'gpu1' } } });
  });

  it('publishes no discriminator for a union that is not discriminated by a string', () => {
    const components = createComponents();
    const choice = z
      .discriminatedUnion('isNew', [
        z.object({ isNew: z.literal(false), id: z.int() }),
        z.object({ isNew: z.literal(true), label: z.string() }),
      ])
      .meta({ id: 'Choice' });
    components.use(choice, 'input');
    expect(components.schemas()['Choice']).not.toHaveProperty('discriminator');
  });

  it('refuses types that JSON cannot express, instead of publishing a schema that admits anything', () => {
    expect(() => createComponents().use(z.object({ at: z.date() }), 'output')).toThrow();
  });
});
