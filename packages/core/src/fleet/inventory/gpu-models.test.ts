import { describe, expect, it } from 'vitest';
import { parseCudaVersion, findGpuModel } from './gpu-models.ts';

describe('GPU models', () => {
  it.each([
    ['NVIDIA H100 80GB HBM3', 'h100', 'sxm5'],
    ['GH100 [H100 SXM5 80GB]', 'h100', 'sxm5'],
    ['NVIDIA H100 PCIe', 'h100', 'pcie'],
    ['GH100 [H100 PCIe]', 'h100', 'pcie'],
    ['NVIDIA H100 NVL', 'h100', 'pcie'],
    ['GH100 [H100L 94GB]', 'h100', 'pcie'],
    ['NVIDIA H200', 'h200', 'sxm5'],
    ['GH100 [H200 SXM 141GB]', 'h200', 'sxm5'],
    ['NVIDIA H200 NVL', 'h200', 'pcie'],
    ['NVIDIA B200', 'b200', 'sxm6'],
    ['GB100 [B200]', 'b200', 'sxm6'],
  ])('%s is sold as %s, %s', (name, gpuType, formFactor) => {
    expect(findGpuModel(name)).toMatchObject({ gpuType, formFactor });
  });

  it.each([
    'NVIDIA GH200 480GB',
    'NVIDIA GB200',
    'NVIDIA H100 MIG 1g.10gb',
    'NVIDIA H100-80C',
    'NVIDIA H800',
    'NVIDIA H20',
    'NVIDIA A100-SXM4-80GB',
    'Tesla T4',
    'AMD Instinct MI300X',
    'not an H100 80GB HBM3',
    '',
  ])('%s is not sold', (name) => {
    expect(findGpuModel(name)).toBeNull();
  });

  it('parseCudaVersion converts versions to comparable numbers and rejects invalid text', () => {
    expect(parseCudaVersion('12.8')).toBe(1_208);
    expect(parseCudaVersion('12.10')).toBe(1_210);
    expect(parseCudaVersion('13.0.1')).toBe(1_300);
    for (const wrong of ['', '12', 'twelve', '99999.1', '12.8x']) expect(parseCudaVersion(wrong)).toBeNull();
  });
});
