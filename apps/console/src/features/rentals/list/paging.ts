/** An organisation may have ten thousand rentals, of which the page shows at most this many. */
export const PAGE_SIZE = 100;
export const PAGES_MAX = 5;
