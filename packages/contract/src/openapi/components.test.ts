import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createComponents } from './components.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe('components', () => {
  it('that look the same sent and read are published once', () => {
    const components = createComponents();
    const colour = z.enum(['red', 'blue']).meta({ id: 'Colour' });
    components.use(z.object({ colour }), 'input');
    components.use(z.object({ colour }), 'output');
    expect(components.schemas()).toEqual({ Colour: { type: 'string', enum: ['red', 'blue'] } });
  });

  it('that look different are published twice, with everything that refers to them', () => {
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

  it('of the same name and different shape are refused', () => {
    const components = createComponents();
    components.use(z.string().meta({ id: 'Name' }), 'output');
    expect(() => components.use(z.number().meta({ id: 'Name' }), 'output')).toThrow(/"Name"/);
  });

  it('told apart by a word have a component and a mapping each', () => {
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

  it('told apart by words that differ in punctuation alone keep a component each', () => {
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

  it('told apart by something else than a word have no discriminator, which could not say it', () => {
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

  it('refuse what JSON cannot say, instead of publishing a schema that admits anything', () => {
    expect(() => createComponents().use(z.object({ at: z.date() }), 'output')).toThrow();
  });
});
