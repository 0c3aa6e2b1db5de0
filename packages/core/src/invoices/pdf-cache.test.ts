import { testIds } from '@millrace/testing';
import { expect, it } from 'vitest';
import type { Invoice } from './invoice.ts';
import { PdfCache } from './pdf-cache.ts';

const invoiceOf = (): Invoice => ({ id: testIds.next('ivc') }) as Invoice;

it('PdfCache renders each invoice once, one after the other, for concurrent requests', async () => {
  let running = 0;
  const rendered: string[] = [];
  const cache = new PdfCache(async ({ id }) => {
    running += 1;
    expect(running).toBe(1);
    await Promise.resolve();
    running -= 1;
    rendered.push(id);
    return Buffer.from(id);
  });
  const [one, two] = [invoiceOf(), invoiceOf()];
  const responses = await Promise.all([one, two, one, two, one].map((invoice) => cache.get(invoice)));
  expect(responses.map(String)).toEqual([one.id, two.id, one.id, two.id, one.id]);
  expect(rendered).toEqual([one.id, two.id]);
});

it('PdfCache evicts the least recently used invoice, and failed renderings', async () => {
  let failing = false;
  const rendered: string[] = [];
  const cache = new PdfCache(({ id }) => {
    rendered.push(id);
    return failing ? Promise.reject(new Error('no paper')) : Promise.resolve(Buffer.from(id));
  }, 2);
  const [one, two, three] = [invoiceOf(), invoiceOf(), invoiceOf()];
  for (const invoice of [one, two, one, three, one, two]) await cache.get(invoice);
  expect(rendered).toEqual([one.id, two.id, three.id, two.id]);
  failing = true;
  const broken = invoiceOf();
  await expect(cache.get(broken)).rejects.toThrow('no paper');
  failing = false;
  expect(String(await cache.get(broken))).toBe(broken.id);
});
