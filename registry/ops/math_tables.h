// Written by registry/fit_polynomials.py; coefficients, lowest first, for registry/ops/math.h.
#pragma once

// clang-format off
#include <cstdint>

namespace md::math_tables {

// exp(r) = 1 + r + r^2 P(r); worst relative error 2^-31.1
inline constexpr double kExp32[] = {
    0x1.0000000000000p-1,
    0x1.5555540000000p-3,
    0x1.5554f80000000p-5,
    0x1.1112d80000000p-7,
    0x1.6d3a3a0000000p-10,
    0x1.9e72e60000000p-13,
};
// exp(r) = 1 + r + r^2 P(r); worst relative error 2^-61.6
inline constexpr double kExp64[] = {
    0x1.0000000000000p-1,
    0x1.5555555555559p-3,
    0x1.5555555555553p-5,
    0x1.111111110f69dp-7,
    0x1.6c16c16c1888ap-10,
    0x1.a01a01afdc5c1p-13,
    0x1.a01a019708ce2p-16,
    0x1.71ddf87cd9de8p-19,
    0x1.27e5030adcc64p-22,
    0x1.af5e65d28260dp-26,
    0x1.1f2f9a20b6483p-29,
};

// exp(r) = 1 + r P(r); worst relative error 2^-28.3
inline constexpr double kExpShort32[] = {
    0x1.0000000000000p+0,
    0x1.fffffc0000000p-2,
    0x1.5554920000000p-3,
    0x1.5558ae0000000p-5,
    0x1.12397e0000000p-7,
    0x1.6a4f4e0000000p-10,
};
// exp(r) = 1 + r P(r); worst relative error 2^-57.9
inline constexpr double kExpShort64[] = {
    0x1.0000000000000p+0,
    0x1.000000000000ap-1,
    0x1.5555555555500p-3,
    0x1.55555555506b1p-5,
    0x1.1111111126324p-7,
    0x1.6c16c1847a219p-10,
    0x1.a01a0132aa728p-13,
    0x1.a01999560f08ep-16,
    0x1.71df12d789d48p-19,
    0x1.28ae0513d4d50p-22,
    0x1.ad9c85c943631p-26,
};

// log(1+f) = f + f^2 (-1/2 + f P(f)); worst relative error 2^-27.3
inline constexpr double kLog32[] = {
    0x1.5555540000000p-2,
    -0x1.0002280000000p-2,
    0x1.99a0220000000p-3,
    -0x1.5472160000000p-3,
    0x1.22d8640000000p-3,
    -0x1.0d85600000000p-3,
    0x1.0564ee0000000p-3,
    -0x1.38c97e0000000p-4,
};

// log((1+s)/(1-s)) = 2 s + s^3 P(s^2); worst relative error 2^-66.6
inline constexpr double kAtanh64[] = {
    0x1.5555555555555p-1,
    0x1.9999999999d10p-2,
    0x1.24924924399d0p-2,
    0x1.c71c724b3e833p-3,
    0x1.745ce1d656fdap-3,
    0x1.3b20221b35988p-3,
    0x1.0f677b03a296fp-3,
    0x1.0f0bdf186acffp-3,
};

// log((1+s)/(1-s)) = 2 s + 2/3 s^3 + s^5 P(s^2); worst relative error 2^-36.8
inline constexpr double kAtanh532[] = {
    0x1.999a000000000p-2,
    0x1.2452840000000p-2,
    0x1.df9fec0000000p-3,
};
// log((1+s)/(1-s)) = 2 s + 2/3 s^3 + s^5 P(s^2); worst relative error 2^-73.5
inline constexpr double kAtanh564[] = {
    0x1.9999999999996p-2,
    0x1.2492492492f4fp-2,
    0x1.c71c71c596ea3p-3,
    0x1.745d1829244ddp-3,
    0x1.3b1364d766e16p-3,
    0x1.11206d0987d17p-3,
    0x1.de3dc66c369d9p-4,
    0x1.eac30645af631p-4,
};

// sin(r) = r + r^3 P(r^2), |r| <= pi/4; worst relative error 2^-27.8
inline constexpr double kSin32[] = {
    -0x1.5555440000000p-3,
    0x1.1106dc0000000p-7,
    -0x1.9927fe0000000p-13,
};
// sin(r) = r + r^3 P(r^2), |r| <= pi/4; worst relative error 2^-63.2
inline constexpr double kSin64[] = {
    -0x1.5555555555555p-3,
    0x1.111111111106ap-7,
    -0x1.a01a019ffe95ep-13,
    0x1.71de3a340d001p-19,
    -0x1.ae642ce46bdebp-26,
    0x1.610a1f87a9cbbp-33,
    -0x1.a02f7dc98337ap-41,
};

// cos(r) = 1 + r^2 P(r^2), |r| <= pi/4; worst relative error 2^-33.0
inline constexpr double kCos32[] = {
    -0x1.0000000000000p-1,
    0x1.55554a0000000p-5,
    -0x1.6c0c260000000p-10,
    0x1.99e71c0000000p-16,
};
// cos(r) = 1 + r^2 P(r^2), |r| <= pi/4; worst relative error 2^-69.0
inline constexpr double kCos64[] = {
    -0x1.0000000000000p-1,
    0x1.5555555555555p-5,
    -0x1.6c16c16c16b31p-10,
    0x1.a01a019ffcf39p-16,
    -0x1.27e4fb5a73d40p-22,
    0x1.1eed6fef8c0b3p-29,
    -0x1.9374e0b24f6a3p-37,
    0x1.9df416506976bp-45,
};

// tan(r) = r + r^3 P(r^2), |r| <= pi/4; worst relative error 2^-29.5
inline constexpr double kTan32[] = {
    0x1.5555600000000p-2,
    0x1.110d980000000p-3,
    0x1.badb820000000p-5,
    0x1.5ca9900000000p-6,
    0x1.6359020000000p-7,
    0x1.370a640000000p-14,
    0x1.1f6bde0000000p-8,
};
// tan(r) = r + r^3 P(r^2), |r| <= pi/4; worst relative error 2^-59.9
inline constexpr double kTan64[] = {
    0x1.555555555555ep-2,
    0x1.11111111105cfp-3,
    0x1.ba1ba1babf75bp-5,
    0x1.664f485d1344fp-6,
    0x1.226e3a840b03ep-7,
    0x1.d6d2e735a4ea7p-9,
    0x1.7db19623266f4p-10,
    0x1.34bbcf45ae587p-11,
    0x1.ff32ebd938e37p-13,
    0x1.5e6195610a8e2p-14,
    0x1.1a217bc00ce90p-14,
    -0x1.af11b6552285fp-16,
    0x1.987167bcc5bb7p-15,
    -0x1.97bc01f34acdep-16,
    0x1.4908543695714p-17,
};

// tanh(x) = x + x^3 P(x^2), |x| <= 0.6; worst relative error 2^-28.4
inline constexpr double kTanh32[] = {
    -0x1.55553e0000000p-2,
    0x1.1109be0000000p-3,
    -0x1.b89aba0000000p-5,
    0x1.54c3c20000000p-6,
    -0x1.8287760000000p-8,
};

// erf(x) = x + x P(x^2), |x| <= 1; worst relative error 2^-29.4
inline constexpr double kErfSmall32[] = {
    0x1.06eba80000000p-3,
    -0x1.81273e0000000p-2,
    0x1.ce2cec0000000p-4,
    -0x1.b7f7e00000000p-6,
    0x1.53fabc0000000p-8,
    -0x1.a39fc40000000p-11,
    0x1.486e480000000p-14,
};
// erf(x) = x + x P(x^2), |x| <= 1; worst relative error 2^-56.4
inline constexpr double kErfSmall64[] = {
    0x1.06eba8214db69p-3,
    -0x1.812746b037a38p-2,
    0x1.ce2f21a047bd5p-4,
    -0x1.b82ce3147d16ep-6,
    0x1.565bcd74ff398p-8,
    -0x1.c02dcd438828fp-11,
    0x1.f9a730be2f63fp-14,
    -0x1.f542ad4a353dbp-17,
    0x1.c26a19ce5fabbp-20,
    -0x1.d3e8d14b5b1f1p-23,
    0x1.57414064c85d0p-24,
    -0x1.d8057ceb8b3fbp-25,
    0x1.f3d6aa436aea0p-26,
    -0x1.3d1f8c2c471a3p-27,
    0x1.6835f2996b107p-30,
};

// log(erfc(2.5 + t)), |t| <= 1.5; worst relative error 2^-34.2
inline constexpr double kErfcLog32[] = {
    -0x1.f3a2dc0000000p+2,
    -0x1.5692500000000p+2,
    -0x1.e3460c0000000p-1,
    -0x1.63ed620000000p-7,
    0x1.1a7a6c0000000p-9,
    -0x1.c8ee080000000p-12,
    0x1.0b939e0000000p-14,
    -0x1.44d15e0000000p-16,
    0x1.2686520000000p-21,
};

// erfc(x) = exp(-x^2) P(t), t = (x-2)/(x+2), 1 <= x <= 6; worst relative error 2^-63.5
inline constexpr double kErfcScaled64[] = {
    0x1.058671b52c776p-2,
    -0x1.b57034efd3f71p-2,
    0x1.eeea7dc8a77ccp-3,
    -0x1.437f0b68c2afap-4,
    0x1.e9471599d2af7p-9,
    0x1.ca95ed6dfacabp-8,
    -0x1.bc25a3cdf4ca0p-11,
    -0x1.016b78bd19718p-10,
    0x1.6d4fccee8168ep-15,
    0x1.6dbb95c7f1c94p-13,
    0x1.d28131b0bd426p-16,
    -0x1.cd0ac929ae70fp-16,
    -0x1.277338fdfceacp-16,
    -0x1.f48ed668cb46ep-18,
    0x1.9974d1291dcaep-17,
    0x1.ef679056ec848p-15,
    0x1.2dd7864010f4cp-14,
    0x1.8b001e7d86aa0p-16,
};

// asin(x) = x + x^3 P(x^2), |x| <= 1/2; worst relative error 2^-31.7
inline constexpr double kAsin32[] = {
    0x1.55554c0000000p-3,
    0x1.3338a00000000p-4,
    0x1.6caa4e0000000p-5,
    0x1.04b2ec0000000p-5,
    0x1.d758a20000000p-7,
    0x1.33e85e0000000p-5,
};
// asin(x) = x + x^3 P(x^2), |x| <= 1/2; worst relative error 2^-59.9
inline constexpr double kAsin64[] = {
    0x1.5555555555577p-3,
    0x1.333333332e13dp-4,
    0x1.6db6db721191fp-5,
    0x1.f1c71a9552a91p-6,
    0x1.6e8bded49dd7cp-6,
    0x1.1c49f13b2c476p-6,
    0x1.ca1f77bddd93bp-7,
    0x1.75864055082a4p-7,
    0x1.613877522740fp-7,
    0x1.e634276a2566bp-9,
    0x1.63892ef9afafbp-6,
    -0x1.57e1fdaa406d2p-6,
    0x1.0b3e16622799fp-5,
};

// atan(x) = x + x^3 P(x^2), |x| <= tan(pi/8); worst relative error 2^-30.4
inline constexpr double kAtan32[] = {
    -0x1.55554a0000000p-2,
    0x1.9991de0000000p-3,
    -0x1.23b9240000000p-3,
    0x1.b21ade0000000p-4,
    -0x1.f2acb60000000p-5,
};
// atan(x) = x + x^3 P(x^2), |x| <= tan(pi/8); worst relative error 2^-63.8
inline constexpr double kAtan64[] = {
    -0x1.5555555555554p-2,
    0x1.9999999999595p-3,
    -0x1.2492492470279p-3,
    0x1.c71c71b4d375ep-4,
    -0x1.745d1463980d4p-4,
    0x1.3b1366c40d6a1p-4,
    -0x1.110c07b4e7d79p-4,
    0x1.e169f5c437354p-5,
    -0x1.ab4a993ae5e7fp-5,
    0x1.702158b67f6d2p-5,
    -0x1.1063494a4e91fp-5,
    0x1.ea90be2b23245p-7,
};

// erfc(1.5 + t) exp(..) = E + t P(t); worst relative error 2^-29.8
inline constexpr double kErfcMiddle32[] = {
    -0x1.4f19880000000p-3,
    0x1.37ea260000000p-4,
    -0x1.0dc5200000000p-5,
    0x1.b659b80000000p-7,
    -0x1.5142f00000000p-8,
    0x1.ee6a020000000p-10,
    -0x1.5a38780000000p-11,
    0x1.d2d6ec0000000p-13,
    -0x1.3dde6c0000000p-14,
    0x1.a9b86c0000000p-16,
    -0x1.657e940000000p-18,
};
// erfc(1.5 + t) exp(..) = E + t P(t); worst relative error 2^-59.7
inline constexpr double kErfcMiddle64[] = {
    -0x1.4f1988444caf7p-3,
    0x1.37ea271bc54bdp-4,
    -0x1.0dc51d2941e01p-5,
    0x1.b65944f34f713p-7,
    -0x1.513ed76012ed6p-8,
    0x1.ee705e7373db3p-10,
    -0x1.5b0abfe417d85p-11,
    0x1.d4509d04f8c98p-13,
    -0x1.30c0ecebbf926p-14,
    0x1.7f997b4ef6976p-16,
    -0x1.d41555a272991p-18,
    0x1.156c42608fbbcp-19,
    -0x1.4006ba2b5a7a3p-21,
    0x1.67dd1a2f36c88p-23,
    -0x1.8ac2b5fa205f5p-25,
    0x1.a627177b178d6p-27,
    -0x1.bbbe4dba48be2p-29,
    0x1.d8ec1443a6e62p-31,
    -0x1.ef4247d7e1b76p-33,
    0x1.919340a8ff48dp-35,
    -0x1.3c04e757ecd74p-38,
};

// x erfc(x) exp(x^2) = 1/sqrt(pi) + P(w) w, w = 1/x^2; worst relative error 2^-30.7
inline constexpr double kErfcFar32[] = {
    -0x1.20dd660000000p-2,
    0x1.b13f8a0000000p-2,
    -0x1.0de02e0000000p+0,
    0x1.c81ef60000000p+1,
    -0x1.b148b00000000p+3,
    0x1.6e3cb60000000p+5,
    -0x1.aa9ac80000000p+6,
    0x1.da73b80000000p+6,
};
// x erfc(x) exp(x^2) = 1/sqrt(pi) + P(w) w, w = 1/x^2; worst relative error 2^-59.1
inline constexpr double kErfcFar64[] = {
    -0x1.20dd750429b16p-2,
    0x1.b14c2f8624f8dp-2,
    -0x1.0ecf9da8df434p+0,
    0x1.d9eb4f048b161p+1,
    -0x1.0a9407bc37dafp+4,
    0x1.6e83e7a42200ep+6,
    -0x1.298cfdae376e8p+9,
    0x1.15804f2c32809p+12,
    -0x1.2047ef45cdc9dp+15,
    0x1.3f7617b0ed8e0p+18,
    -0x1.64f2a9064e29ap+21,
    0x1.7ae6278c65cd8p+24,
    -0x1.6a9992d89f1a2p+27,
    0x1.2bfbdec38242ep+30,
    -0x1.9ebafd35663c4p+32,
    0x1.d07434e281690p+34,
    -0x1.977b36b5f0c5ep+36,
    0x1.0c49f8a97029bp+38,
    -0x1.f0fab4c77ef21p+38,
    0x1.2005406862874p+39,
    -0x1.39c88392f023dp+38,
};

// The first 1,216 fraction bits of 2/pi after 64 zero bits, most significant word first
inline constexpr std::uint64_t kTwoOverPi[] = {
    0x0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
};

}  // namespace md::math_tables
