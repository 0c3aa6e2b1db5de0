export { openBook, type Book, type BookOptions } from './book.ts';
export { mayUseModel, priceOf, runsSomewhere } from './catalog.ts';
export { toWireModelList, toWireModelPrice } from './wire.ts';
