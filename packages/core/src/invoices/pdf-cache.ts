import type { InvoiceId } from '@millrace/platform/ids';
import type { Invoice } from './invoice.ts';

/**
 * Caches PDFs, because invoices are immutable. Repeated and concurrent requests cost one rendering, and renderings run
 * one after the other.
 */
export class PdfCache {
  readonly #render: (invoice: Invoice) => Promise<Buffer>;
  readonly #most: number;
  readonly #stored = new Map<InvoiceId, Promise<Buffer>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(render: (invoice: Invoice) => Promise<Buffer>, most = 64) {
    this.#render = render;
    this.#most = most;
  }

  get(invoice: Invoice): Promise<Buffer> {
    const { id } = invoice;
    const bytes = this.#stored.get(id) ?? this.#make(invoice);
    // Moves the entry to the end: the least recently used entry is evicted first.
    this.#stored.delete(id);
    this.#stored.set(id, bytes);
    for (const oldest of this.#stored.keys()) {
      if (this.#stored.size <= this.#most) break;
      this.#stored.delete(oldest);
    }
    return bytes;
  }

  #make(invoice: Invoice): Promise<Buffer> {
    const made = this.#last.then(() => this.#render(invoice));
    this.#last = made.catch(() => {
      // A failed rendering is removed, so that the next request retries it.
      this.#stored.delete(invoice.id);
    });
    return made;
  }
}
