type Collect = () => void | Promise<void>;

const collectors = new Set<Collect>();

/** Calls `collect` before each scrape, to record gauges that cost nothing in between. Returns the function that ends it. */
export function onScrape(collect: Collect): () => void {
  collectors.add(collect);
  return () => void collectors.delete(collect);
}

/** A failed collector must not hide the metrics of the others. */
export async function collectAll(): Promise<void> {
  await Promise.allSettled([...collectors].map(async (collect) => collect()));
}
