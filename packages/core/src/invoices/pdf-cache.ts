import type { InvoiceId } from '@millrace/platform/ids';
import type { Invoice } from './invoice.ts';

/**
 * PDFs that were asked for lately. An invoice never changes, so neither does its PDF; and whoever asks again and again, or
 * many times at once, costs one rendering. They are made one after the other.
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
    // What was asked for last is forgotten last.
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
      // The next one who asks tries again.
      this.#stored.delete(invoice.id);
    });
    return made;
  }
}
