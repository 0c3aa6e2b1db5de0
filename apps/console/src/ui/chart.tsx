import { lazy, Suspense } from 'react';
import { ChartSkeleton } from './skeleton.tsx';
import { DEFAULT_HEIGHT, type ChartProps } from './chart/types.ts';

const Canvas = lazy(async () => ({ default: (await import('./chart/canvas.tsx')).ChartCanvas }));

/**
 * Time series chart: drag across it to zoom, double-click to reset, or use the keyboard. A data table is below. The drawing
 * library is loaded with the first chart.
 */
export function Chart(props: ChartProps) {
  return (
    <Suspense fallback={<ChartSkeleton what={props.label} height={props.height ?? DEFAULT_HEIGHT} />}>
      <Canvas {...props} />
    </Suspense>
  );
}
